"""The reference model qwen3 on every mesh."""

import reference_model

ReferenceModel = reference_model.tests_of("qwen3")
