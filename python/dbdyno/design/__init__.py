"""From a study to the ordered list of its runs. Pure: the same study and seed, the same plan."""

from dbdyno.design.cells import cells
from dbdyno.design.plan import derive_seed, plan

__all__ = ["cells", "derive_seed", "plan"]
