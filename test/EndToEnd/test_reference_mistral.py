"""The reference model mistral on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("mistral")
LEFT_TO_ALL = reference_model.left_to_all("mistral")
