/*
 * What pyslurm 25.11 calls and libslurm 26.05 has otherwise: read by the compiler before each of pyslurm's files.
 * Source: what gcc says without it.
 */
#ifndef PAISLURM_OF_26_05_H
#define PAISLURM_OF_26_05_H

#include <sys/types.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>

/* Jobs are named by the structure that names steps, in place of their numbers. */
static inline slurm_step_id_t whole_job(uint32_t number)
{
	slurm_step_id_t job = SLURM_STEP_ID_INITIALIZER;

	job.job_id = number;
	return job;
}

static inline int job_of_process(pid_t process, uint32_t *number)
{
	slurm_step_id_t job = SLURM_STEP_ID_INITIALIZER;
	int status = slurm_pid2jobid(process, &job);

	*number = job.job_id;
	return status;
}

#define slurm_get_end_time(number, time) slurm_get_end_time(whole_job(number), time)
#define slurm_get_rem_time(number) slurm_get_rem_time(whole_job(number))
#define slurm_job_node_ready(number) slurm_job_node_ready(whole_job(number))
#define slurm_kill_job(number, signal, flags) slurm_kill_job(whole_job(number), signal, flags)
#define slurm_load_job(answer, number, flags) slurm_load_job(answer, whole_job(number), flags)
#define slurm_notify_job(number, text) slurm_notify_job(whole_job(number), text)
#define slurm_pid2jobid(process, number) job_of_process(process, number)
#define slurm_requeue(number, flags) slurm_requeue(whole_job(number), flags)
#define slurm_resume(number) slurm_resume(whole_job(number))
#define slurm_suspend(number) slurm_suspend(whole_job(number))

/* Nothing of 26.05 frees a configuration: one is left, once in a process. */
#define slurm_free_ctl_conf(configuration) ((void)(configuration))

/* An error that 26.05 never gives. */
#define ESLURM_ERROR_ON_DESC_TO_RECORD_COPY ((slurm_err_t)-1)

#endif
