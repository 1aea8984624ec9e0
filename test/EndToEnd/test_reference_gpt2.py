"""The reference model gpt2 on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("gpt2")
LEFT_TO_ALL = reference_model.left_to_all("gpt2")
