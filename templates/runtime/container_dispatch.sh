
# ==== dispatch in containers ====
# Bash reads a script while running it. A shell in a container ends here, and never reads what
# follows: it reads 0.6 of what a task outside reads (make bench, reading).
if [[ ${1-} == --inside ]]; then
  start_up "$@"
  container_side_main "${@:2}"
fi
