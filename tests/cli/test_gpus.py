"""`compile --every-gpu` and `gpus` as users call them."""

import json

from tests.cli.commandline import Warpyard

SHARED = 70_000


def test_a_kernel_is_fitted_to_every_gpu(warpyard: Warpyard) -> None:
    asked = ("compile", "saxpy.cu", "--block", "512", "--shared", str(SHARED), "--grid", "1000", "--every-gpu")
    report = json.loads(warpyard(*asked, "--json").stdout)
    fits = {fit["gpu"]: fit for fit in report["gpus"]}
    assert len(fits) == 12
    assert fits["T4"]["occupancy"] is None
    assert fits["T4"]["why_not"] == (
        f"a block needs {SHARED:,} bytes of shared memory (all of it dynamic); sm_75 has 65,536 a block"
    )
    for gpu, blocks_per_sm, sms in (("H200 SXM", 3, 132), ("H100 PCIe", 3, 114), ("L4", 1, 58), ("RTX 5090", 1, 170)):
        found = fits[gpu]["occupancy"]
        assert (found["blocks_per_sm"], found["sm_count"], found["gpu"]) == (blocks_per_sm, sms, gpu)
        assert found["waves"] == 1000 / (blocks_per_sm * sms)
        assert abs(found["tail"] - (1 - 1000 % (blocks_per_sm * sms) / (blocks_per_sm * sms))) < 1e-12
    lines = warpyard(*asked).stdout.splitlines()
    (row,) = (line.split() for line in lines if line.startswith("  H200 SXM"))
    assert row[3:] == [
        str(fits["H200 SXM"]["resources"]["registers"]),
        "0",
        "B",
        "0",
        "B",
        "75",
        "%",
        "shared",
        "2.53",
        "47",
        "%",
    ]
    assert any(line.startswith("  T4") and "not possible: a block needs 70,000 bytes" in line for line in lines)


def test_a_source_for_new_gpus_alone_says_so_of_the_others(warpyard: Warpyard) -> None:
    source = '__global__ void k(int *a) {\n#if __CUDA_ARCH__ < 800\n#error "needs Ampere"\n#endif\n    *a = 1;\n}\n'
    report = json.loads(warpyard("compile", "-", "--every-gpu", "--json", given=source).stdout)
    why = {fit["gpu"]: fit["why_not"] for fit in report["gpus"]}
    assert why["T4"].startswith("it does not compile for sm_75: ")
    assert "needs Ampere" in why["T4"]
    assert not any(reason for gpu, reason in why.items() if gpu != "T4")


def test_gpus_tells_facts_and_sources(warpyard: Warpyard) -> None:
    assert warpyard("gpus").stdout.count("sm_") == 12
    said = warpyard("gpus", "a10g").stdout
    assert "600 GB/s" in said
    assert "AWS g5.xlarge (1 GPU)" in said
    assert "sources: " in said
    refused = warpyard("gpus", "Voodoo")
    assert refused.returncode == 2
    assert "no GPU is called 'Voodoo': there are T4, A10G" in refused.stderr


def test_one_text_is_of_one_gpu(warpyard: Warpyard) -> None:
    refused = warpyard("compile", "saxpy.cu", "--ptx", "--every-gpu")
    assert refused.returncode == 2
    assert "--ptx prints one text" in refused.stderr
