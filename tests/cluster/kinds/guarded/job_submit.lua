-- The site's rule: who asks for account `extra` runs in another partition, and nobody names a WCKey.
function slurm_job_submit(job, partitions, uid)
  if job.wckey then
    slurm.log_user("Jobs of this site have no WCKey. Ask help@site.example for one.")
    return slurm.ERROR
  end
  if job.account == "extra" then
    job.partition = "second"
    slurm.log_user("Jobs of account extra run in partition second.")
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end
