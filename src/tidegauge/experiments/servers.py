"""The key `servers` of experiments made of many trials: servers of their own for each, or shared by all of a step."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator

from tidegauge.config.fields import member_of
from tidegauge.model.trial import Servers

ServersChoice = Annotated[Servers, BeforeValidator(member_of(Servers))]
"""`fresh` or `shared`."""
