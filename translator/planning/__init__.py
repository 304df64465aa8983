"""Planning: from a job and a site to a plan."""
