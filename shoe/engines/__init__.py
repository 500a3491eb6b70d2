"""Who does many pieces of work: this process, several of this machine, or a cluster; and how they are divided."""
