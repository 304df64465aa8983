"""Stands in for training programs of PyTorch, by DDP or by Horovod: a few steps of a small model on random tensors.

Its options are those of the published programs. As those do, it finds the other ranks by PAI_* variables for DDP, and
by what mpirun says for Horovod. Needs Debian's python3-torch.
"""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

import torch
from torch import distributed, multiprocessing, nn, optim

if TYPE_CHECKING:
    from collections.abc import Callable

STEPS, IMAGES, CLASSES = 6, 16, 10


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--dist-backend", help="train by DDP; without it by Horovod")
    parser.add_argument("-n", "--nodes", type=int)
    parser.add_argument("-g", "--gpus", type=int)
    parser.add_argument("--epochs")
    parser.add_argument("--model")
    parser.add_argument("--batch-size")
    options = parser.parse_args()
    if options.dist_backend:
        first = "worker_0"
        os.environ["MASTER_ADDR"] = os.environ[f"PAI_HOST_IP_{first}"]
        os.environ["MASTER_PORT"] = os.environ[f"PAI_{first}_SynPort_PORT"]
        # By fork, which spares each rank the import of PyTorch: it is a second's work.
        multiprocessing.start_processes(by_ddp, nprocs=options.gpus, args=(options,), start_method="fork")
    else:
        by_horovod()


def by_ddp(process: int, options: argparse.Namespace) -> None:
    rank, size = int(os.environ["PAI_TASK_INDEX"]) * options.gpus + process, options.nodes * options.gpus
    distributed.init_process_group(options.dist_backend, rank=rank, world_size=size)

    def gathered(mine: torch.Tensor) -> torch.Tensor:
        everyone = [torch.empty_like(mine) for _ in range(size)]
        distributed.all_gather(everyone, mine)
        return torch.stack(everyone)

    model = nn.parallel.DistributedDataParallel(new_model(rank))
    train(rank, model, optim.SGD(model.parameters(), lr=0.03), gathered)


def by_horovod() -> None:
    import horovod.torch as hvd

    hvd.init()
    model = new_model(hvd.rank())
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(optim.SGD(model.parameters(), lr=0.03), model.named_parameters())
    train(hvd.rank(), model, optimizer, lambda mine: hvd.allgather(mine[None]))
    hvd.shutdown()


def new_model(rank: int) -> nn.Module:
    """Return a model that is each rank's own: making them equal, and keeping them so, is what is tried here."""
    torch.set_num_threads(1)
    torch.manual_seed(rank)
    return nn.Sequential(nn.Conv2d(3, 6, 5), nn.ReLU(), nn.MaxPool2d(4), nn.Flatten(), nn.Linear(6 * 7 * 7, CLASSES))


def train(
    rank: int, model: nn.Module, optimizer: optim.Optimizer, gathered: Callable[[torch.Tensor], torch.Tensor]
) -> None:
    """Train on images of the rank's own, and say what has become of the loss of all ranks, and of their models."""
    images, labels = torch.randn(IMAGES, 3, 32, 32), torch.randint(CLASSES, (IMAGES,))
    losses = torch.empty(STEPS)
    for step in range(STEPS):
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses[step] = loss.item()
    means = gathered(losses).mean(0)
    mine = nn.utils.parameters_to_vector(model.parameters()).detach()
    models = gathered(mine)
    equal = sum(torch.equal(mine, other) for other in models)
    where = f"rank {rank} of {len(models)} on {os.uname().nodename}"
    # One write: ranks of a task have their output in common.
    os.write(1, f"{where}: loss {means[0]:.3f} to {means[-1]:.3f}, {equal} equal\n".encode())


if __name__ == "__main__":
    main()
