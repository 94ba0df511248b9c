# %% [markdown]
# # The loss in your own loop
#
# 4,000 handwritten digits, which come with the installation. 97 of 100 have the colour of their class as
# background, so a network can read the colour and never look at the digit. Here is an ordinary training loop in
# plain PyTorch, run twice: without FLAC, and with it. Nobody names a colour.

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import torch
import torch.nn.functional as F

from fairflac import FLACLoss
from fairflac.data.sets.biased_mnist import BiasedDigits
from fairflac.nets.small import SimpleConvNet

QUICK = bool(os.environ.get("FAIRFLAC_QUICK"))  # a try of a few seconds, for tests
EPOCHS, STEP = (1, 8) if QUICK else (10, 1)

# %% [markdown]
# ## The digits
#
# In the training set nearly every digit has its own colour. In the test set every digit has every colour, so
# that the colour says nothing.

# %%
digits = BiasedDigits(q=0.97, validation=0.0)
train, test = digits.load(Path(), "train"), digits.load(Path(), "test")


def tensors(data):
    x = torch.from_numpy(data.images[::STEP].copy()).permute(0, 3, 1, 2).float() / 127.5 - 1
    return x, torch.from_numpy(data.y[::STEP].copy())


x, y = tensors(train)
test_x, test_y = tensors(test)

figure, axes = plt.subplots(2, 10, figsize=(8, 2))
for row, data in zip(axes, (train, test), strict=True):
    for digit, axis in enumerate(row):
        axis.imshow(data.images[data.y == digit][-1 if data is train else digit * 7 % 10 * 10])
        axis.axis("off")
figure.suptitle("training (one of the exceptions of each class), and test")
plt.show()

# %% [markdown]
# ## A network, and one that sees only colour
#
# Any network will do that gives logits and features, what its last layer sees. The *bias model* is the same with
# 1 x 1 kernels: it looks at single pixels, so it can learn the colour and nothing else. It is trained on the same
# classes; no label of a colour is used.

# %%


def network(kernel):
    return SimpleConvNet(10, kernel_size=kernel, strides=(1, 2, 1, 2), channels=(8, 16, 32, 64))


def fit(net, loss_of, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=0.003)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for _ in range(epochs):
        for rows in torch.randperm(len(x)).split(128)[:-1]:  # the last one is small
            loss = loss_of(*net(x[rows]), rows)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        scheduler.step()
    return net.eval()


def cross_entropy(logits, features, rows):
    return F.cross_entropy(logits, y[rows])


torch.manual_seed(0)
bias_model = fit(network(kernel=1), cross_entropy, epochs=3)
with torch.no_grad():
    bias_features = bias_model(x)[1]  # row i belongs to image i: computed once

# %% [markdown]
# ## Without FLAC, and with it
#
# One term more in the loss. `flac.stats["pairs"]` says how many pairs of the batch carried the bias: if it is
# always 0, FLAC did nothing.

# %%
flac = FLACLoss()


def with_flac(logits, features, rows):
    return cross_entropy(logits, features, rows) + 100 * flac(bias_features[rows], features, y[rows])


nets = {}
for name, loss_of in (("ordinary", cross_entropy), ("with FLAC", with_flac)):
    torch.manual_seed(0)
    nets[name] = fit(network(kernel=7), loss_of, EPOCHS)
    with torch.no_grad():
        right = (nets[name](test_x)[0].argmax(1) == test_y).float().mean()
    print(f"{name}: {right:.0%} of the test digits are right")
print(f"pairs in the last batch: {flac.stats['pairs']:.0f}")

# %% [markdown]
# ## What they look at
#
# The same test digit with ten backgrounds, and the answer of each network. The ordinary one names the colour.

# %%
one = test.images[test.y == 3][0]
white = (one == 255).all(-1, keepdims=True)
backgrounds = [test.images[test.bias["colour"] == colour][0][0, 0] for colour in range(10)]
coloured = torch.stack([torch.from_numpy(one * white + background * ~white) for background in backgrounds])
figure, axes = plt.subplots(1, 10, figsize=(8, 1.6))
with torch.no_grad():
    answers = {name: net(coloured.permute(0, 3, 1, 2).float() / 127.5 - 1)[0].argmax(1) for name, net in nets.items()}
for number, axis in enumerate(axes):
    axis.imshow(coloured[number].numpy())
    axis.set_title("\n".join(str(int(answer[number])) for answer in answers.values()), fontsize=9)
    axis.axis("off")
figure.suptitle(f"answers: {', '.join(answers)}", y=1.1)
plt.show()

# %% [markdown]
# The loss has more to set: [which alpha, how large a batch, several processes](../docs/loss-settings.md). With
# Lightning, Accelerate and the Trainer: [three programs](../docs/loss-frameworks.md).
