"""Says how many tests were skipped, and why, after the others."""


def pytest_configure(config):
    # NumPy's own, of what it is compared with.
    config.addinivalue_line("filterwarnings", "ignore:Degrees of freedom")


def pytest_terminal_summary(terminalreporter):
    skipped = terminalreporter.stats.get("skipped", [])
    reasons = {report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr) for report in skipped}
    terminalreporter.write_line(f"{len(skipped)} skipped" + "".join(f"; {reason}" for reason in sorted(reasons)))
