"""The reference model gpt2 on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("gpt2")
