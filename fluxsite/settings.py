"""Django settings of every process of an instance; FLUX_DOOR is the role of the process."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

from fluxcore import config as flux_config
from fluxcore.version import VERSION
from fluxsite import databases, env, logs
from fluxsite.home import current_home

databases.use_safe_sqlite()

BASE_DIR = Path(__file__).resolve().parent.parent
HOME = current_home()
# Role of this process: `rest` (REST server), `people` (dashboard and MCP server), `stdio` (MCP of one local agent),
# `shell` (commands and worker). The variable keeps its old name.
SERVER_ROLE = env.choice("FLUX_DOOR", "shell", ("rest", "people", "stdio", "shell"))

CONFIG_PROBLEM: str | None = None
CONFIG_WARNINGS: tuple[str, ...] = ()
try:
    _config = flux_config.read_file(HOME.config)
    FLUX, CONFIG_WARNINGS = _config.config, _config.warnings
except flux_config.ConfigError as error:
    if SERVER_ROLE not in ("shell", "stdio"):
        raise
    # Commands must be able to show and stop an instance whose config.yaml was broken after its start.
    FLUX, CONFIG_PROBLEM = flux_config.Config(), str(error)

# Secrets -------------------------------------------------------------------------------------------
# flux_init and flux_start create the key file. Before that a process has a random key, which is enough
# for checks and migrations; servers refuse to start with it (fluxsite/checks.py).
_secret = env.secret("FLUX_SECRET_KEY") or HOME.secret("secret_key")
SECRET_KEY = _secret or secrets.token_urlsafe(48)
SECRET_KEY_IS_KEPT = _secret is not None

# Profile -------------------------------------------------------------------------------------------
DEBUG = False
HTTPS = env.switch("FLUX_HTTPS", False)
ALLOWED_HOSTS = ["localhost", "127.0.0.1", "[::1]", *env.names("FLUX_ALLOWED_HOSTS")]
# `.example.com` means a domain and its subdomains, which Django writes `*.example.com` here.
CSRF_TRUSTED_ORIGINS = [
    f"https://{'*' if name.startswith('.') else ''}{name}" for name in env.names("FLUX_ALLOWED_HOSTS") if HTTPS
]

if HTTPS:
    SECURE_SSL_REDIRECT = True
    SECURE_REDIRECT_EXEMPT = [r"^health$"]  # requested by the supervisor and by containers over plain HTTP
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 31536000
    SECURE_HSTS_INCLUDE_SUBDOMAINS = True
    SECURE_HSTS_PRELOAD = True
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    SILENCED_SYSTEM_CHECKS: list[str] = []
else:
    SILENCED_SYSTEM_CHECKS = [
        "security.W004",  # HSTS: loopback has no TLS
        "security.W008",  # SSL redirect: nothing to redirect to
        "security.W012",  # secure session cookie: would never be sent over plain loopback HTTP
        "security.W016",  # secure CSRF cookie: the same
    ]
# Instances on one machine share cookies, whatever their ports, so the name of the instance is in the cookie's.
# Browsers accept a `__Host-` cookie only over HTTPS from this host, so no other host can set it.
_COOKIE = f"{'__Host-' if HTTPS else ''}flux_{HOME.name}"
SESSION_COOKIE_NAME = f"{_COOKIE}_session"
CSRF_COOKIE_NAME = f"{_COOKIE}_csrf"
SESSION_COOKIE_HTTPONLY = CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = CSRF_COOKIE_SAMESITE = "Lax"
MESSAGE_STORAGE = (
    "django.contrib.messages.storage.session.SessionStorage"  # in the session, so that messages need no cookie
)
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"

# Applications -------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "dashboard",  # first, so that its templates replace those of Django's admin
    "fluxsite.apps.FluxAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django_otp",
    "django_otp.plugins.otp_totp",  # only for its table, from which accounts.0003 moves unencrypted keys
    "channels",
    "fluxsite.site_app.FluxSiteConfig",
    "fluxcore",
    "accounts",
    "memory",
    "memory.grains",
    "memory.extraction",
    "memory.keyvalue",
    "memory.review",
    "memory.artifacts",
    "memory.passages",
    "memory.health",
    "memory.transfer",
    "memory.api",
    "mcp_bridge",
]

if SERVER_ROLE == "rest":
    # Other processes do not use them, and their system checks would add most of a second to every start.
    INSTALLED_APPS += ["rest_framework", "drf_spectacular", "drf_spectacular_sidecar"]

if SERVER_ROLE == "stdio":
    # A process started by a client should start fast, so it leaves out what only the dashboard needs.
    _for_people = {
        "dashboard",
        "fluxsite.apps.FluxAdminConfig",
        "django.contrib.messages",
        "django.contrib.staticfiles",
        "channels",
    }
    INSTALLED_APPS = [app for app in INSTALLED_APPS if app not in _for_people]

# Agents send a token and no cookie, so the REST server has no sessions, CSRF or messages.
_REST_MIDDLEWARE = ["memory.api.middleware.RestMiddleware"]
_PEOPLE_MIDDLEWARE = [
    "dashboard.middleware.DashboardMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "dashboard.static_files.StaticFilesMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]
MIDDLEWARE = _REST_MIDDLEWARE if SERVER_ROLE == "rest" else _PEOPLE_MIDDLEWARE
ROOT_URLCONF = "memory.api.urls" if SERVER_ROLE == "rest" else "dashboard.urls"
WSGI_APPLICATION = "fluxsite.wsgi.application"
ASGI_APPLICATION = "fluxsite.asgi.application"
APPEND_SLASH = SERVER_ROLE != "rest"

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Storage -------------------------------------------------------------------------------------------
DURABILITY = env.choice("FLUX_DURABILITY", "full", ("full", "normal"))
DATABASES = {"default": databases.database(env.text("DATABASE_URL"), default=HOME.database, durability=DURABILITY)}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
# `thread` collects concurrent writes into one commit; `inline` commits in the caller's thread, for tests,
# commands and workers, which write one at a time.
BOOTH = env.choice("FLUX_BOOTH", "inline" if SERVER_ROLE == "shell" else "thread", ("thread", "inline"))

# Encoder -------------------------------------------------------------------------------------------
# Overrides EMBEDDING_MODEL_NAME of config.yaml, for containers that share the file.
_encoders = flux_config.FIELDS["EMBEDDING_MODEL_NAME"].metadata["allowed"]
ENCODER = env.choice("FLUX_ENCODER", FLUX.EMBEDDING_MODEL_NAME, _encoders)

# Accounts ------------------------------------------------------------------------------------------
AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.Argon2PasswordHasher"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
]
LOGIN_URL = "sign-in"
SESSION_ENGINE = "accounts.signin.sessions"
SESSION_COOKIE_AGE = 12 * 60 * 60
# Second folder for the signed checkpoints of the audit chains, best on another machine's disk.
CHECKPOINTS = env.folder_outside("FLUX_CHECKPOINTS", env.text("FLUX_CHECKPOINTS"), than=HOME.path)

# REST ----------------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["memory.api.authentication.BearerToken"],
    "DEFAULT_PERMISSION_CLASSES": ["memory.api.authentication.HasPrincipal"],
    "DEFAULT_PARSER_CLASSES": ["memory.api.parsers.StrictJSON"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "memory.api.parsers.JSONOnly",
    "EXCEPTION_HANDLER": "memory.api.errors.handle_exception",
    "UNAUTHENTICATED_USER": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Flux Memory",
    "VERSION": VERSION,
    "DESCRIPTION": "Memory for AI agents. Every call but /health and /readyz requires a bearer token.",
    "OAS_VERSION": "3.1.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": [],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "COMPONENT_SPLIT_REQUEST": True,
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "PATH_CONVERTER_OVERRIDES": {"text": str},
    "PREPROCESSING_HOOKS": ["memory.api.schema.only_versioned_paths"],
    "POSTPROCESSING_HOOKS": ["memory.api.schema.add_common_answers"],
}
# memory/api/parsers.py limits bodies; Django's limit is a second protection.
MAX_BODY_BYTES = env.number("FLUX_MAX_BODY_BYTES", 8 * 1024 * 1024, low=1024, high=256 * 1024 * 1024)
DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
MAX_IMPORT_FILES = 500  # of one upload on the Import page
DATA_UPLOAD_MAX_NUMBER_FILES = MAX_IMPORT_FILES + 1  # one more, so that the page itself refuses it

# Jobs and live feed --------------------------------------------------------------------------------
REDIS_URL = env.url("REDIS_URL", schemes=("redis", "rediss", "unix"))
CHANNEL_LAYERS = {
    "default": (
        {
            "BACKEND": "channels_redis.pubsub.RedisPubSubChannelLayer",
            # Instances that share a Redis have different prefixes.
            "CONFIG": {"hosts": [REDIS_URL], "prefix": f"flux:{HOME.name}:live:"},
        }
        if REDIS_URL
        else {"BACKEND": "channels.layers.InMemoryChannelLayer"}
    )
}

# Maximum WebSockets of the live feed per process: in total, and per agent or person.
LIVE_SOCKETS = env.number("FLUX_LIVE_SOCKETS", 256, low=1, high=10_000)
LIVE_SOCKETS_EACH = env.number("FLUX_LIVE_SOCKETS_EACH", 8, low=1, high=1000)

# Static files, time, logs --------------------------------------------------------------------------
STATIC_URL = "/static/"
STATIC_ROOT = HOME.run / "static"
SERVESTATIC_USE_FINDERS = True
LANGUAGE_CODE = "en"
USE_TZ = True
TIME_ZONE = "UTC"
LOGGING = logs.configuration(
    file=HOME.log if HOME.path.is_dir() and env.switch("FLUX_LOG_FILE", True) else None,
    as_json=env.switch("FLUX_LOG_JSON", False),
    level=env.choice("FLUX_LOG_LEVEL", "INFO", ("DEBUG", "INFO", "WARNING", "ERROR")),
)
