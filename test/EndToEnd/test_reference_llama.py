"""The reference model llama on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("llama")
