"""Loading weights of others: only what is pinned, only safetensors, every refusal in words. Nothing is downloaded."""

import copy
import json

import pytest
import torch

from {{ cookiecutter.__package }}.pretrained import build, checksum

COMMIT = "0123456789abcdef0123456789abcdef01234567"
TINY = {"vocab_size": 60, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
KINDS = {
    "encoder": ("BertConfig", "BertModel", 32),
    "causal-lm": ("LlamaConfig", "LlamaForCausalLM", 60),
}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({}, "needs either model and revision"),
        ({"model": "a/b", "folder": "c"}, "needs either model and revision"),
        ({"model": "a/b"}, "revision: missing"),
        ({"model": "a/b", "revision": "main"}, "'main', which can move"),
        ({"model": "a/b", "revision": COMMIT[:12]}, "which can move"),
        ({"model": "a/b", "revision": COMMIT, "head": "classifier"}, "allowed are encoder, causal-lm"),
        ({"folder": "/no/such/folder", "sha256": "0"}, "has no config.json"),
    ],
)
def test_what_is_not_pinned_or_not_there_is_refused_in_words(config, words):
    with pytest.raises(ValueError, match=words):
        build(**config)


@pytest.fixture(params=KINDS)
def saved(request, tmp_path):
    """A tiny model of each kind, saved as Hugging Face saves; (folder, head, last size of the output)."""
    transformers = pytest.importorskip("transformers", reason="not in requirements.txt: no such model is loaded")
    config, kind, size = KINDS[request.param]
    torch.manual_seed(0)
    getattr(transformers, kind)(getattr(transformers, config)(**TINY)).save_pretrained(tmp_path)
    return tmp_path, request.param, size


def texts() -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(60, (2, 8), generator=torch.Generator().manual_seed(0))
    return tokens, torch.ones_like(tokens)


def test_a_pinned_folder_gives_a_float32_model_whose_forward_returns_a_tensor(saved):
    folder, head, size = saved
    model = build(folder=str(folder), sha256=checksum(folder), head=head)
    assert not model.training
    assert {weight.dtype for weight in model.parameters()} == {torch.float32}
    with torch.inference_mode():
        output = model(*texts())
        half = copy.deepcopy(model).half()(*texts())
    assert (output.shape, output.dtype) == ((2, 8, size), torch.float32)
    assert half.dtype == torch.float16
    assert ((half.float() - output).norm() / output.norm()).item() < 8 * 2**-10


def test_texts_that_the_model_cannot_take_are_refused_in_words(saved):
    folder, head, _ = saved
    model, (tokens, mask) = build(folder=str(folder), sha256=checksum(folder), head=head), texts()
    long = tokens.repeat(1, 1000)
    for ids, seen in ((tokens, mask[:, 1:]), (long, torch.ones_like(long))):
        with pytest.raises(ValueError, match="must have one shape, and at most"):
            model(ids, seen)


def test_a_wrong_pin_and_changed_weights_are_refused(saved):
    folder, head, _ = saved
    pin = checksum(folder)
    with pytest.raises(ValueError, match=f'Type: sha256 = "{pin}"'):
        build(folder=str(folder), sha256="0" * 64, head=head)
    with pytest.raises(ValueError, match="have no pin"):
        build(folder=str(folder), head=head)
    checksum.cache_clear()
    with (folder / "model.safetensors").open("r+b") as file:
        file.seek(-1, 2)
        file.write(b"\x7f")
    with pytest.raises(ValueError, match="sha256"):
        build(folder=str(folder), sha256=pin, head=head)


def test_other_formats_are_refused(saved):
    folder, head, _ = saved
    torch.save({}, folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ValueError, match="no \\*.safetensors"):
        build(folder=str(folder), sha256=checksum(folder), head=head)


def test_code_of_a_repository_is_never_run(saved):
    folder, head, _ = saved
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "surprise", "auto_map": {"AutoConfig": "evil.Config", "AutoModel": "evil.Model"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text(f"open({str(folder / 'was-run')!r}, 'w')")
    with pytest.raises(ValueError, match="trust_remote_code"):
        build(folder=str(folder), sha256=checksum(folder), head=head)
    assert not (folder / "was-run").exists()


def test_what_the_cache_does_not_have_is_refused_when_offline(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="not in requirements.txt: this project loads no such model")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ValueError, match="not in the cache, and offline = true"):
        build(model="owner/name", revision=COMMIT, offline=True)
    with pytest.raises(ValueError, match="expected owner/name"):
        build(model="owner/name/more", revision=COMMIT, offline=True)


def test_a_hub_that_does_not_answer_is_no_mistake_of_yours(tmp_path, monkeypatch):
    hub = pytest.importorskip("huggingface_hub", reason="not in requirements.txt: this project loads no such model")
    monkeypatch.setattr(hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(hub.constants, "HF_HUB_OFFLINE", True)  # no request leaves this machine
    with pytest.raises(ConnectionError, match="the hub did not answer for owner/name"):
        build(model="owner/name", revision=COMMIT)
