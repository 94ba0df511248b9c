"""All methods by name."""

from fairflac.methods.balanced import Balanced
from fairflac.methods.base import Method
from fairflac.methods.bc_bb import BCBB
from fairflac.methods.cgl import CGL
from fairflac.methods.di import DI
from fairflac.methods.disent import DisEnt, DisEntBE
from fairflac.methods.end import EnD
from fairflac.methods.fairkl import FairKL, FairKLLU
from fairflac.methods.flac import FLAC, FLACB
from fairflac.methods.flac_plus import FLACPlus
from fairflac.methods.gce import GCE, GCECommittee
from fairflac.methods.groupdro import GroupDRO
from fairflac.methods.hex import HEX
from fairflac.methods.jtt import JTT
from fairflac.methods.lff import LfF
from fairflac.methods.lisa import LISA
from fairflac.methods.lm import LearnedMixin
from fairflac.methods.lnl import LNL
from fairflac.methods.rebias import ReBias
from fairflac.methods.rubi import RUBi
from fairflac.methods.softcon import SoftCon
from fairflac.methods.ssa import SSA
from fairflac.methods.vanilla import Vanilla
from fairflac.nets.frozen import Frozen

METHODS: dict[str, type[Method]] = {
    method.name: method
    for method in (
        Vanilla,
        GCE,
        FLAC,
        FLACB,
        FLACPlus,
        Balanced,
        LISA,
        DI,
        EnD,
        GroupDRO,
        JTT,
        SSA,
        LfF,
        ReBias,
        RUBi,
        LearnedMixin,
        CGL,
        DisEnt,
        DisEntBE,
        GCECommittee,
        BCBB,
        SoftCon,
        LNL,
        HEX,
        FairKL,
        FairKLLU,
    )
}

__all__ = ["METHODS", "Frozen", "Method"]
