#%Module1.0
# Made by install/central.sh of paislurm.
proc ModulesHelp { } {
    puts stderr "paislurm @VERSION@ compiles OpenPAI job files to Slurm batch scripts, submits and watches them."
}
module-whatis "OpenPAI job files on Slurm"
conflict paislurm
# A folder with the program alone: users keep the Python that they have.
prepend-path PATH "@FOLDER@/@VERSION@/program"
