
# ==== dispatch ====
# Slurm starts this script for the job. For all other parts the script starts itself.
set_batch_defaults
case ${1-} in
  --image) open_attempt "${@:2}" && fetch_images_main ;;
  --fabric) open_attempt "${@:2}" && print_infiniband_problems ;;
  --sweep) open_attempt "${@:2}" && clean_up_node ;;
  --evidence) open_attempt "${@:2:2}" && print_evidence "$4" ;;
  --stall) open_attempt "${@:2}" && print_stall ;;  # only: progress
  --exit) print_exit "${@:2}" ;;
  --start-file) print_start_file ;;
  --barrier) open_attempt "${@:2}" && mark_control_fifos ready ;;
  --peer) peer_main "${@:2}" ;;
  --ssh) ssh_main "${@:2}" ;;
  --exec) exec_main "${@:2}" ;;
  --relay) relay_main "${@:2}" ;;
  --outside) host_side_main "${@:2}" ;;
  *) batch_main "$@" ;;
esac
