"""SeaweedFS as the S3 store of artifacts: keys and the bucket."""

import json
import secrets
import subprocess
from pathlib import Path

from testcluster.errors import PlatformError
from testcluster.files import write
from testcluster.layout import NODE_IP, S3, Layout

BUCKET = "artifacts"
URL = f"http://{NODE_IP}:{S3}"
MASTER = "127.0.0.1:9333"


def keys(layout: Layout) -> Path:
    """The file with the one identity's keys, made when it is missing."""
    file = layout.run / "secrets" / "s3.json"
    if not file.exists():
        write(file, json.dumps({"accessKey": secrets.token_hex(10), "secretKey": secrets.token_hex(20)}))
    return file


def config(pair: dict[str, str]) -> str:
    """Who may do what."""
    actions = ["Admin", "Read", "Write", "List", "Tagging"]
    return json.dumps({"identities": [{"name": "gpulab", "credentials": [pair], "actions": actions}]}, indent=1)


def make_bucket(program: Path) -> None:
    """The bucket of the artifacts; it may exist."""
    text = f"s3.bucket.create -name {BUCKET}\ns3.bucket.list\n"
    line = [str(program), "shell", f"-master={MASTER}"]
    done = subprocess.run(line, input=text, text=True, capture_output=True, check=False, timeout=60)
    if f"  {BUCKET}" not in done.stdout:
        raise PlatformError(f"seaweedfs: bucket {BUCKET} was not made: {(done.stdout + done.stderr).strip()[-500:]}")
