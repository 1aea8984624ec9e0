"""The reference model llama on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("llama")
LEFT_TO_ALL = reference_model.left_to_all("llama")
