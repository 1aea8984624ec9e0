"""The reference model mistral on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("mistral")
