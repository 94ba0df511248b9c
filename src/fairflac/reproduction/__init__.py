"""The paper's tables and figures: which runs they need, who makes these, and what comes out."""
