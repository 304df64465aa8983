-- The site's rule: a job's comment and name are the site's, and jobs of 90 minutes get other options.
function slurm_job_submit(job, partitions, uid)
  job.comment = "site:" .. uid
  job.name = "x-" .. job.name
  if job.time_limit == 90 then
    job.partition = "long"
    job.account = "extra"
    job.time_limit = 120
    slurm.log_user("NOTE: jobs over an hour run in partition long.")
  end
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end
