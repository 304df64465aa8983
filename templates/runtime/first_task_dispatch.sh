# ==== dispatch of first tasks ====
if [[ ${1-} == --task ]]; then
  task_main "${@:2}"
fi
