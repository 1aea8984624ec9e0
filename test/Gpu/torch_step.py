"""The time of a training step of Llama's layers in PyTorch (torch.compile), of the
shapes that test/Gpu/run gives; prints one line of JSON."""

import json
import sys
import time

try:
    import torch
    import transformers
except ImportError as error:
    sys.exit(f"PyTorch is not timed: {error}")


def main():
    shapes, steps = json.loads(sys.argv[1]), int(sys.argv[2])
    config = transformers.LlamaConfig(
        hidden_size=shapes["hidden"], num_attention_heads=shapes["heads"],
        num_key_value_heads=shapes["kv_heads"],
        intermediate_size=shapes["intermediate"], num_hidden_layers=shapes["layers"],
        vocab_size=shapes["vocabulary"], max_position_embeddings=8192)
    results = {}
    for name, precision in [("float32", "highest"), ("tf32", "high"),
                            ("bf16", "high")]:
        torch.set_float32_matmul_precision(precision)
        model = transformers.LlamaForCausalLM(config).cuda()
        step = torch.compile(model)
        optimizer = torch.optim.AdamW(model.parameters(), fused=True)
        ids = torch.randint(shapes["vocabulary"], (1, shapes["sequence"]),
                            device="cuda")
        times = []
        for _ in range(steps):
            torch.cuda.synchronize()
            begin = time.time()
            # Parameters stay float32, as in ours.
            with torch.autocast("cuda", torch.bfloat16, enabled=name == "bf16"):
                loss = step(input_ids=ids, labels=ids).loss
            loss.backward()
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
            torch.cuda.synchronize()
            times.append(time.time() - begin)
        results[name] = {"step_s": sorted(times)[len(times) // 2]}
    print(json.dumps(results))


main()
