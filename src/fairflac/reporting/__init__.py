"""Reports: tables, figures and a page, each a pure function of run directories."""
