"""Products that speak Kafka's protocol: how each is known, what it ignores, refuses and promises.

Each is one file of `product_data`, with the documentation that says so; no code names one. Where a file promises
nothing, Apache Kafka's own settings decide, as far as the product reports them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import Field

from tidegauge.config.fields import Fields
from tidegauge.model.server import Setting
from tidegauge.numbers import whole_number
from tidegauge.systems.attached import KNOWN_BY, PRODUCT, SAID

_DATA = Path(__file__).parent / "product_data"
CLUSTER = "cluster"


class Recognized(Fields):
    """What tells a product apart, as regular expressions for whole names; "" = nothing of that kind."""

    cluster_id: str = ""
    hosts: str = ""
    broker_settings: str = ""
    topic_settings: str = ""


class TopicRules(Fields):
    """What a product does with settings of topics.

    Attributes:
        settable: the only ones that it takes; None = it takes those that it does not refuse.
        without_effect: those that decide nothing there, whether it takes them or not.
        at_most: limits of those that are numbers.
        copies: "cluster" where it has its own number of copies, or none, whatever is asked for.
    """

    settable: list[str] | None = None
    refused: list[str] = Field(default_factory=list)
    without_effect: list[str] = Field(default_factory=list)
    at_most: dict[str, int] = Field(default_factory=dict)
    copies: Literal["", "cluster"] = ""


class DocumentedPromise(Fields):
    """What an acknowledgement means, by a product's documentation, where a topic reports these settings."""

    acks: Literal["all", "one", ""] = ""
    settings: dict[str, str] = Field(default_factory=dict)
    replication: Literal["majority", "none", "unknown"]
    disk: Literal["synced", "memory", "unknown"]
    why: str

    def applies_to(self, values: Mapping[str, str], acks: str) -> bool:
        """Whether it is made for a topic that reports these values and producers that wait so."""
        return self.acks in ("", acks) and all(values.get(name) == value for name, value in self.settings.items())


class ProductFields(Fields):
    """The keys of a product's file.

    Attributes:
        aliases: what else users call it.
        sources: addresses of the documentation that says all this.
        otherwise: why no level follows where no promise applies; "" = Apache Kafka's own settings decide then.
    """

    title: str
    aliases: list[str] = Field(default_factory=list)
    sources: list[str] = Field(min_length=1)
    otherwise: str = ""
    recognized: Recognized = Recognized()
    topics: TopicRules = TopicRules()
    promises: list[DocumentedPromise] = Field(default_factory=list)


@dataclass(frozen=True)
class Product:
    """A product by the name of its file."""

    name: str
    fields: ProductFields

    @property
    def title(self) -> str:
        """What sentences call it."""
        return self.fields.title

    def promise_for(self, values: Mapping[str, str], acks: str) -> DocumentedPromise | None:
        """What an acknowledgement means for such a topic; None where Apache Kafka's own settings decide."""
        fields = self.fields
        made = next((promise for promise in fields.promises if promise.applies_to(values, acks)), None)
        if made is None and fields.otherwise:
            return DocumentedPromise(replication="unknown", disk="unknown", why=fields.otherwise)
        return made

    def why_not_set(self, name: str, value: str) -> str:
        """Why a setting is not to be asked for topics there, as "refuses it"; "" if it may be."""
        rules = self.fields.topics
        if name in rules.without_effect:
            return "gives it no effect"
        if name in rules.refused or (rules.settable is not None and name not in rules.settable):
            return "refuses it"
        limit, number = rules.at_most.get(name), whole_number(value)
        if limit is not None and number is not None and number > limit:
            return f"allows at most {limit:,}"
        return ""

    def sign_in(self, settings: Sequence[Setting]) -> str:
        """What of these settings shows that it is this product: "cluster id redpanda.1"; "" if nothing does."""
        return next(self._signs_in(settings), "")

    def _signs_in(self, settings: Sequence[Setting]) -> Iterator[str]:
        rules = self.fields.recognized
        names = {"broker": rules.broker_settings, "topic": rules.topic_settings}
        for setting in settings:
            scope = setting.scope.partition(" ")[0]
            if (scope, setting.name) == (CLUSTER, "cluster.id"):
                if rules.cluster_id and re.fullmatch(rules.cluster_id, setting.value):
                    yield f"cluster id {setting.value}"
            elif (scope, setting.name) == ("broker", "address"):
                host = setting.value.rpartition(":")[0]
                if rules.hosts and re.fullmatch(rules.hosts, host):
                    yield f"address {host}"
            elif re.fullmatch(names.get(scope, ""), setting.name):
                yield f"{scope} setting {setting.name}"


@cache
def all_products() -> dict[str, Product]:
    """Every product by its name."""
    return {
        path.stem: Product(path.stem, ProductFields.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))))
        for path in sorted(_DATA.glob("*.toml"))
    }


def product_names() -> tuple[str, ...]:
    """What users may call the products."""
    return tuple(name for product in all_products().values() for name in (product.name, *product.fields.aliases))


def product_named(name: str) -> Product | None:
    """The product that users call so, or that has this title; None for "" and what is none."""
    for product in all_products().values():
        if name in (product.name, product.title, *product.fields.aliases):
            return product
    return None


def product_in(settings: Sequence[Setting]) -> Product | None:
    """The product that settings read back are of, as somebody said or as they show; None = Apache Kafka itself."""
    for setting in settings:
        if (setting.scope, setting.name) == (CLUSTER, PRODUCT):
            return product_named(setting.value)
    return next((product for product in all_products().values() if product.sign_in(settings)), None)


def settings_naming(said: str, settings: Sequence[Setting]) -> list[Setting]:
    """What to add to settings read back, so that they say which product it is; [] for Apache Kafka itself.

    `said`: what the user says that it is; "" = nothing.
    """
    product = product_named(said) or product_in(settings)
    if product is None:
        return []
    signs = [(other.title, sign) for other in all_products().values() if (sign := other.sign_in(settings))]
    by_sign = next((sign for title, sign in signs if title == product.title), "")
    known_by = SAID if said else by_sign
    if said and signs and not by_sign:
        known_by = f"{SAID}; by its {signs[0][1]} it is {signs[0][0]}"
    return [Setting(CLUSTER, PRODUCT, product.title), Setting(CLUSTER, KNOWN_BY, known_by)]
