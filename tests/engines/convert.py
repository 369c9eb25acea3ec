"""Turn the GGUF file of SmolLM2 into a folder that vLLM serves as a thinking model.

Runs in vLLM's virtual environment: `python convert.py MODEL.gguf FOLDER`. SmolLM2 knows no
thinking. Two of its tokens that stand for parts of source repositories become `<think>` and
`</think>`, and its chat template opens the thinking as Qwen3's does, unless
`enable_thinking` is false: then it is SmolLM2 as it was. No weight is changed.
"""

import json
import sys
from pathlib import Path

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

THINKING = {"<jupyter_script>": "<think>", "<empty_output>": "</think>"}
"""The tokens that are renamed; neither is in a prompt or a reply of ours."""

TEMPLATE = """\
{%- if messages[0].role != 'system' %}
{{- '<|im_start|>system\\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face' }}
{{- '<|im_end|>\\n' }}
{%- endif %}
{%- for message in messages %}
{{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{{- '<think>\\n' if enable_thinking is not defined or enable_thinking }}
{%- endif %}
"""
"""As SmolLM2's own, but for the thinking; vLLM's parser `qwen3` reads `enable_thinking` too."""


def convert(gguf: Path, folder: Path) -> None:
    """Write weights, tokenizer and chat template into `folder`."""
    source = {"pretrained_model_name_or_path": gguf.parent, "gguf_file": gguf.name}
    dense = GgufConfig(dequantize=True)  # vLLM 0.32 reads no GGUF
    model = AutoModelForCausalLM.from_pretrained(
        **source, dtype=torch.bfloat16, quantization_config=dense
    )
    tokenizer = AutoTokenizer.from_pretrained(**source)
    tokenizer.chat_template = TEMPLATE
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    _rename_tokens(folder / "tokenizer.json")


def _rename_tokens(path: Path) -> None:
    """Rename the tokens of THINKING; special no more, they stay in the text for the parser."""
    told = json.loads(path.read_text())
    vocabulary = told["model"]["vocab"]
    for old, new in THINKING.items():
        vocabulary[new] = vocabulary.pop(old)
    for token in told["added_tokens"]:
        if token["content"] in THINKING:
            token.update(content=THINKING[token["content"]], special=False)
    path.write_text(json.dumps(told, ensure_ascii=False))


if __name__ == "__main__":
    convert(Path(sys.argv[1]), Path(sys.argv[2]))
