# The plugin ssh: wait until all tasks of the job are reachable.
# Source: OpenPAI runtime, plugin ssh, sshbarrier.
exec {pause}<> <(:)
for ((tries = 0; tries < 5 * BARRIER_SECONDS; tries++)); do
  if [[ -e $PAISLURM_CONTROL.ready ]]; then
    exit 0
  fi
  # A sleep that starts no process.
  read -r -t 0.2 <&"$pause" || true
done
echo "after $BARRIER_SECONDS s not all tasks of the job have begun"
exit 10
