# The plugin tensorboard: run TensorBoard beside the first task, until that ends.
# Source: OpenPAI runtime, plugin tensorboard.
[[ $PAI_TASK_INDEX == 0 ]] || exit 0
if ! command -v tensorboard >/dev/null; then
  python3 -m pip install tensorboard
  PATH=$PATH:$HOME/.local/bin
fi
case $(tensorboard --version 2>/dev/null) in
  1.*) version=1 ;;
  *) version=2 ;;
esac
if ((version == 1)); then
  options=(--logdir "$NAMED_FOLDERS")
elif [[ $ONLY_FOLDER ]]; then
  options=(--logdir "$ONLY_FOLDER" --bind_all)
else
  options=(--logdir_spec "$NAMED_FOLDERS" --bind_all)
fi
tensorboard --port "$PORT" "${options[@]}" &
