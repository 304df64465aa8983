# Bash reads a script as far as it runs it: a task of which all is known before it begins, and there may be many of them on
# a node, needs no more of it than this.
[[ ${1-} != --task || $GANG == 0 || ${WORLD_OF[*]-} ]] || task_main "${@:2}"
