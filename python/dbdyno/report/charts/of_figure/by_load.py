"""Any figure over the number of clients."""

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.charts.chart import Chart
from dbdyno.report.charts.load import by_clients


def draw(analysis: Analysis, metric: str, *, name: str) -> Chart:
    """Like throughput; with a single load the cells stand side by side."""
    return by_clients(analysis, metric, name=name, note="")
