"""The reference model qwen2 on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("qwen2")
