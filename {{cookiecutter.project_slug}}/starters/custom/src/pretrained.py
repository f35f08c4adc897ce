"""A Hugging Face model in the place of model.py, at exactly the weights that you name.

Add `transformers>=5` to requirements.txt, and in lab.toml set `factory = "<package>.pretrained:build"`,
`reference = ""` and one of these, each with its pin:

    [model.config]                                      # from the hub, or a mirror of it
    model = "meta-llama/Llama-2-7b-hf"
    revision = "<the 40 digits of the commit>"  # a commit: branches and tags move
    head = "causal-lm"                                  # logits; "encoder" (the default) gives hidden states
    mirror = ""                                         # "" = what HF_ENDPOINT says, else the hub itself
    offline = false                                     # true: only what is in the cache already

    [model.config]                                      # from a folder in the image or on a volume
    folder = "/models/all-minilm-l6-v2"
    sha256 = "…"                                        # printed by: python -m <package>.pretrained FOLDER

    [[inputs]]                                          # the same for both; high is the vocabulary's size
    name = "input_ids"
    shape = [4, 32]
    dtype = "int64"
    low = 0
    high = 30522
    [[inputs]]
    name = "attention_mask"                             # low = 0 leaves holes, as padding does; causal-lm: low = 1
    shape = [4, 32]
    dtype = "int64"
    low = 0
    high = 2

Only safetensors are read and code of a repository is never run. Weights do not belong into git.
"""

import hashlib
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

HEADS = {"encoder": ("AutoModel", "last_hidden_state"), "causal-lm": ("AutoModelForCausalLM", "logits")}
NEEDED = ["*.safetensors", "*.safetensors.index.json", "config.json", "generation_config.json"]


class Pretrained(nn.Module):
    """The model of a folder behind a forward that takes tensors and returns one."""

    def __init__(self, inner: nn.Module, field: str):
        super().__init__()
        self.inner, self.field = inner, field

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """[B, T] and [B, T] (1 a token, 0 padding) -> [B, T, hidden size], or logits [B, T, vocabulary]."""
        longest = getattr(self.inner.config, "max_position_embeddings", input_ids.shape[1])
        if input_ids.shape[1] > longest or attention_mask.shape != input_ids.shape:
            found = f"input_ids {list(input_ids.shape)} and attention_mask {list(attention_mask.shape)}"
            raise ValueError(f"{found}: both must have one shape, and at most {longest} tokens")
        output: dict[str, Any] = self.inner(input_ids=input_ids, attention_mask=attention_mask, return_dict=True)
        return output[self.field]


def build(
    model: str = "",
    revision: str = "",
    folder: str = "",
    sha256: str = "",
    head: str = "encoder",
    mirror: str = "",
    offline: bool = False,
) -> Pretrained:
    """The pretrained model in float32, ready for inference.

    Raises:
        ValueError: what is asked for is not pinned, not there, or not what was pinned; says what to type.
        ConnectionError: the hub or its mirror did not answer.
    """
    if head not in HEADS:
        raise ValueError(f"[model.config] head = {head!r}: allowed are {', '.join(HEADS)}")
    if bool(model) == bool(folder):
        raise ValueError("[model.config] needs either model and revision (hub), or folder and sha256")
    where = pinned_folder(Path(folder), sha256) if folder else snapshot(model, revision, mirror, offline)
    kind, field = HEADS[head]
    return Pretrained(load(where, kind), field).float().eval()


def load(folder: Path, kind: str) -> nn.Module:
    """The model of a folder. Nothing is fetched here, and no code from the folder is run."""
    import transformers  # here, because reading weights from elsewhere needs no such large package

    if not any(folder.glob("*.safetensors")):
        raise ValueError(f"{folder} has no *.safetensors: other formats can run code when they are read; convert it")
    settings = {"local_files_only": True, "trust_remote_code": False, "use_safetensors": True, "dtype": torch.float32}
    inner: nn.Module = getattr(transformers, kind).from_pretrained(folder, **settings)
    inner.config.use_cache = False
    return inner


def pinned_folder(folder: Path, sha256: str) -> Path:
    """The folder, if its weights and configuration have the checksum."""
    if not (folder / "config.json").is_file():
        raise ValueError(f"[model.config] folder = {str(folder)!r} has no config.json: is the volume mounted?")
    found = checksum(folder)
    if sha256 != found:
        wanted = f"are {sha256!r} in lab.toml" if sha256 else "have no pin"
        raise ValueError(f'[model.config] sha256: the weights of {folder} {wanted}. Type: sha256 = "{found}"')
    return folder


@cache
def checksum(folder: Path) -> str:
    """SHA-256 over names and contents of all that is read from the folder; once per process, for it may be many GB."""
    digest = hashlib.sha256()
    for file in sorted({file for pattern in NEEDED for file in folder.glob(pattern)}):
        with file.open("rb") as content:
            part = hashlib.file_digest(content, "sha256").hexdigest()
        digest.update(f"{part}  {file.name}\n".encode())
    return digest.hexdigest()


def snapshot(model: str, revision: str, mirror: str, offline: bool) -> Path:
    """The folder of one commit of a repository, from the cache, or the hub, or its mirror."""
    if not re.fullmatch(r"[0-9a-f]{40}", revision):
        found = f"found {revision!r}, which can move" if revision else "missing"
        raise ValueError(f"[model.config] revision: {found}. Type the 40 digits of the commit, from {model}'s page")
    from huggingface_hub import errors, snapshot_download

    try:
        where = snapshot_download(
            model, revision=revision, endpoint=mirror or None, local_files_only=offline, allow_patterns=NEEDED
        )
    except errors.LocalEntryNotFoundError as error:
        if offline:
            raise ValueError(f"{model} at {revision} is not in the cache, and offline = true. {fill(model)}") from error
        raise ConnectionError(f"{mirror or 'the hub'} did not answer for {model}, and it is not cached") from error
    except errors.GatedRepoError as error:
        raise ValueError(f"{model} needs its licence accepted on its page, and a token in HF_TOKEN") from error
    except errors.RevisionNotFoundError as error:
        raise ValueError(f"[model.config] revision: {model} has no commit {revision}") from error
    except errors.RepositoryNotFoundError as error:
        raise ValueError(f"[model.config] model: no {model!r}, or it is private and HF_TOKEN is missing") from error
    except errors.HFValidationError as error:
        raise ValueError(f"[model.config] model = {model!r}: expected owner/name") from error
    return Path(where)


def fill(model: str) -> str:
    """What to type to fill the cache."""
    return f"On a machine with a network, type: hf download {model} --revision <commit>"


if __name__ == "__main__":
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "config.json").is_file():
        raise SystemExit("usage: python -m <package>.pretrained FOLDER   (a folder with config.json and *.safetensors)")
    print(f'folder = "{sys.argv[1]}"\nsha256 = "{checksum(Path(sys.argv[1]))}"')
