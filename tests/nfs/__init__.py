"""paislurm with its home on NFS: a real server and the clients of a real kernel, in a guest."""
