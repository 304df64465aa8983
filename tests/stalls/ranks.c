/* Stands in for an MPI program: steps that all ranks take together, until one stalls on purpose.
   Usage: ranks VICTIM STEP stop|sleep|barrier FILE */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv) {
    int rank, mine = 1, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int step = 0;; step++) {
        if (rank == atoi(argv[1]) && step == atoi(argv[2])) {
            FILE *file = fopen(argv[4], "w");
            fprintf(file, "%ld", (long)time(NULL));
            fclose(file);
            if (!strcmp(argv[3], "stop")) raise(SIGSTOP);
            else if (!strcmp(argv[3], "sleep")) sleep(9999);
            else MPI_Barrier(MPI_COMM_WORLD);
        }
        MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (!rank) printf("step %d\n", step), fflush(stdout);
        usleep(200000);
    }
}
