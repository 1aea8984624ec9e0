"""The reference model llama3-rope on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("llama3-rope")
LEFT_TO_ALL = reference_model.left_to_all("llama3-rope")
