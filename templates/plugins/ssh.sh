# The plugin ssh: wait until all tasks of the job can be reached. Source: OpenPAI runtime, plugin ssh, sshbarrier.
exec {pause}<> <(:)
for ((tries = 0; tries < 5 * BARRIER_SECONDS; tries++)); do
  [[ ! -e $PAISLURM_BELL.ready ]] || exit 0
  read -r -t 0.2 <&"$pause" || true
done
echo "after $BARRIER_SECONDS s not all tasks of the job have begun"
exit 10
