"""Gitea: its configuration, its administrator and a token for the tests."""

import configparser
import io
import secrets
import subprocess
import time
from pathlib import Path

from testcluster.errors import PlatformError
from testcluster.files import write
from testcluster.layout import FORGE, NODE_IP, POD_RANGE, SERVICE_RANGE, Layout

ADMIN = "gpulab-admin"
URL = f"http://{NODE_IP}:{FORGE}"


def config(layout: Layout, share: Path, secret: str) -> str:
    """A small Gitea: SQLite, no mail, no packages; hooks may be sent to pods, services and this machine."""
    home = layout.data / "gitea"
    sections: dict[str, dict[str, object]] = {
        "DEFAULT": {"APP_NAME": "gpulab test forge", "RUN_MODE": "prod", "RUN_USER": "root", "WORK_PATH": home},
        "server": {
            "HTTP_ADDR": NODE_IP,
            "HTTP_PORT": FORGE,
            "DOMAIN": NODE_IP,
            "ROOT_URL": f"{URL}/",
            "STATIC_ROOT_PATH": share,
            "APP_DATA_PATH": home / "data",
            "DISABLE_SSH": "true",
            "LFS_START_SERVER": "false",
            "OFFLINE_MODE": "true",
        },
        "database": {"DB_TYPE": "sqlite3", "PATH": home / "gitea.db", "SQLITE_JOURNAL_MODE": "WAL", "LOG_SQL": "false"},
        "security": {
            "INSTALL_LOCK": "true",
            "SECRET_KEY": secret,
            "INTERNAL_TOKEN": secret,
            "PASSWORD_HASH_ALGO": "pbkdf2$1000$50",  # cheap: the passwords are random and live for one test run
        },
        "repository": {"ROOT": home / "repositories", "DEFAULT_BRANCH": "main"},
        "webhook": {"ALLOWED_HOST_LIST": f"loopback,{POD_RANGE},{SERVICE_RANGE}", "SKIP_TLS_VERIFY": "true"},
        "queue": {"TYPE": "channel"},
        "session": {"PROVIDER": "memory"},
        "indexer": {"ISSUE_INDEXER_TYPE": "db"},
        "service": {"DISABLE_REGISTRATION": "true"},
        "log": {"MODE": "console", "LEVEL": "Info", "ROOT_PATH": home / "log"},
        **{name: {"ENABLED": "false"} for name in ("oauth2", "mailer", "actions", "packages", "federation", "cron")},
    }
    return _ini(sections)


def credentials(layout: Layout, program: Path) -> Path:
    """The file with the administrator's token, made when it is missing."""
    file = layout.run / "secrets" / "forge-token"
    if not file.exists():
        base = ["user", "create", "--admin", "--username", ADMIN, "--email", "admin@forge.invalid"]
        _gitea(layout, program, *base, "--random-password", "--must-change-password=false", known="already exists")
        name = f"tests-{time.time_ns()}"
        words = ["user", "generate-access-token", "--username", ADMIN, "--token-name", name, "--scopes", "all", "--raw"]
        write(file, _gitea(layout, program, *words).strip().splitlines()[-1])
    return file


def fresh_secret(layout: Layout) -> str:
    """The forge's own secret, kept between two starts."""
    file = layout.run / "secrets" / "forge-key"
    if not file.exists():
        write(file, secrets.token_urlsafe(48))
    return file.read_text()


def _ini(sections: dict[str, dict[str, object]]) -> str:
    top = sections["DEFAULT"]
    ini = configparser.RawConfigParser(default_section="")
    ini.optionxform = str  # type: ignore[assignment,method-assign]
    ini.read_dict({name: values for name, values in sections.items() if name != "DEFAULT"})
    out = io.StringIO()
    ini.write(out)
    return "".join(f"{key} = {value}\n" for key, value in top.items()) + "\n" + out.getvalue()


def _gitea(layout: Layout, program: Path, *words: str, known: str = "") -> str:
    environment = {"GITEA_I_AM_BEING_UNSAFE_RUNNING_AS_ROOT": "true", "HOME": str(layout.data / "gitea")}
    line = [str(program), "--config", str(layout.file("gitea.ini")), "admin", *words]
    environment["PATH"] = "/usr/sbin:/usr/bin:/sbin:/bin"
    done = subprocess.run(line, env=environment, text=True, capture_output=True, check=False)
    if done.returncode and not (known and known in done.stdout + done.stderr):
        raise PlatformError(f"gitea admin {words[0]} {words[1]}: {(done.stderr or done.stdout).strip()[-500:]}")
    return done.stdout
