"""The base of every group of settings of the trainer."""

from pydantic import BaseModel, ConfigDict


class Knobs(BaseModel):
    """Frozen settings that know no other names; the line under a field is its help text."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False
    )
