-- The site's rule: a job's comment and name are the site's.
function slurm_job_submit(job, partitions, uid)
  job.comment = "site:" .. uid
  job.name = "x-" .. job.name
  return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, uid)
  return slurm.SUCCESS
end
