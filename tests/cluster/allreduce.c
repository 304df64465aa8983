/* Stands in for a training program: adds up a number of each rank over all of them, or as many as the argument says,
   since many go other ways than one, and says where each is. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, size, count = argc > 1 && atoi(argv[1]) > 0 ? atoi(argv[1]) : 1;
    char host[256];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    gethostname(host, sizeof host);
    int *mine = malloc(count * sizeof *mine), *sums = malloc(count * sizeof *sums);
    for (int i = 0; i < count; i++) mine[i] = rank + 1;
    MPI_Allreduce(mine, sums, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    FILE *file = fopen("/proc/self/cgroup", "r");
    char line[4096], *step = NULL;
    while (file && !step && fgets(line, sizeof line, file)) step = strstr(line, "/step_");
    printf("rank %d of %d on %s: %d %s\n", rank, size, host, sums[count - 1], step ? step + 1 : "");
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
