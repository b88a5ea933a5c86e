"""``labelgrove serve``: an HTTP service that answers while it learns, with durable writes."""

from labelgrove.service._app import create_app, serve
from labelgrove.service._database import recover
from labelgrove.service._http import is_loopback
from labelgrove.service._problems import DamagedLog
from labelgrove.service._service import Service, alone_in
from labelgrove.service._settings import Settings

__all__ = [
    "DamagedLog",
    "Service",
    "Settings",
    "alone_in",
    "create_app",
    "is_loopback",
    "recover",
    "serve",
]
