"""The reference model qwen3 on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("qwen3")
LEFT_TO_ALL = reference_model.left_to_all("qwen3")
