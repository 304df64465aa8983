/* A site's SPANK plugin: each task gets a variable, and another with what --flavour says.
 * What it takes of slurm/spank.h stands here, so that it can be made for each Slurm; VERSION is Slurm's. */
#include <stdio.h>

typedef void *spank_t;
struct spank_option {
    char *name;
    char *arginfo;
    char *usage;
    int has_arg;
    int val;
    int (*cb)(int val, const char *optarg, int remote);
};
extern int spank_option_register(spank_t spank, struct spank_option *option);
extern int spank_setenv(spank_t spank, const char *name, const char *value, int overwrite);

const char plugin_name[] = "site";
const char plugin_type[] = "spank";
const unsigned int plugin_version = VERSION;
const unsigned int spank_plugin_version = 1;

static char flavour[64];

static int take_flavour(int val, const char *optarg, int remote)
{
    (void)val;
    (void)remote;
    snprintf(flavour, sizeof(flavour), "%s", optarg);
    return 0;
}

static struct spank_option option = {"flavour", "WORD", "what tasks get in SITE_FLAVOUR", 1, 0, take_flavour};

/* A table named spank_options would do for srun, and not for sbatch. */
int slurm_spank_init(spank_t spank, int count, char **words)
{
    (void)count;
    (void)words;
    return spank_option_register(spank, &option);
}

int slurm_spank_task_init(spank_t spank, int count, char **words)
{
    (void)count;
    (void)words;
    spank_setenv(spank, "SITE_FLAVOUR", flavour, 1);
    return spank_setenv(spank, "SITE_TASK", "of the site", 1);
}
