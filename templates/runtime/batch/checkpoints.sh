# Note the time of the newest checkpoint (extras.slurm.resumes).

# find_checkpoint: set PSL_NEWEST to the time of the newest matching file or folder in seconds since
# 1970, or to nothing. Only what this node sees counts.
find_checkpoint() {
  PSL_NEWEST=$(
    IFS=
    newest=''
    cd -- "$PSL_SUBMIT_DIR" || exit
    for file in ${PSL_CHECKPOINTS-}; do
      if [[ -e $file ]] && [[ ! $newest || $file -nt $newest ]]; then
        newest=$file
      fi
    done
    if [[ $newest ]]; then
      stat -L -c %Y -- "$newest"
    fi
  )
}
