"""Commands that destroy something are recognised, and ordinary ones are not called destructive."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from laguna_tui.agent.permissions.destructive_commands import destruction


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "kept.txt").write_text("kept\n")
    (tmp_path / "two words.txt").write_text("kept\n")
    (tmp_path / "empty.txt").touch()
    (tmp_path / "src").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "command",
    """
    rm -rf build¦rm -r x¦rm -R x¦rm -fr x¦rm --recursive x¦rm --rec x¦/bin/rm -rf x¦RM -rf x¦rm *.o¦rm -- *
    cd x && rm -rf y¦ls; rm -r y¦if true; then rm -r y; fi¦A=1 rm -r y¦(rm -r y)¦echo "$(rm -r y)"¦`rm -r y`
    sudo rm -rf x¦env A=1 rm -r x¦timeout 5 rm -r x¦xargs rm -r¦nice -n 5 rm -r x¦sh -c 'cd a; rm -rf b'
    bash -lc "rm -rf x"¦find . -name x -exec rm -rf {} +¦find . -delete¦fd -x rm -r¦ssh host rm -rf x
    r''m -rf x¦r\\m -rf x¦$'\\x72m' -rf x¦'rm' -r x¦python -c 'import shutil; shutil.rmtree("x")'¦rimraf dist
    git reset --hard¦git reset --hard HEAD~3¦git -C sub reset --hard¦git --no-pager reset --hard
    git push --force¦git push -f¦git push --force-with-lease¦git push origin +main¦git push --delete origin x
    git push origin :x --prune¦git push --mirror¦git clean -fd¦git clean -xdf¦git clean --force¦git checkout -- a
    git checkout .¦git checkout -f main¦git restore a¦git switch -f x¦git switch --discard-changes x¦git stash drop
    git stash clear¦git branch -D x¦git rm -r x¦git filter-branch x¦git reflog expire --all¦git update-ref -d refs/x
    dd if=/dev/zero of=x¦mkfs.ext4 /dev/sda¦mkfs /dev/sda¦wipefs -a x¦shred x¦truncate -s 0 x
    chmod -R 777 .¦chown -R me .¦chgrp --recursive me .¦rsync -a --delete a b¦docker system prune -f
    find . -execdir /bin/rm {} +¦kubectl delete pod x¦terraform destroy¦psql -c 'DROP TABLE x'¦dropdb x¦crontab -r
    echo a > kept.txt¦echo a >kept.txt¦echo a >| kept.txt¦ls &> kept.txt¦ls 2> kept.txt¦ls 1>kept.txt
    echo a > "two words.txt"¦: > src/../kept.txt¦sort x | tee kept.txt¦cp a kept.txt¦mv a kept.txt¦install a kept.txt
    """.strip()
    .replace("\n", "¦")
    .split("¦"),
)
def test_it_is_recognised(command: str, folder: Path) -> None:
    assert destruction(command.strip(), folder)


@pytest.mark.parametrize(
    "command",
    [
        *("ls", "rm x", "rm -f x", "ls -r", "grep -r rm .", "git commit -m 'rm -rf x'", "echo remove", "farm -r x"),
        *("git status", "git reset HEAD a", "git push", "git push origin main", "git clean -n", "git checkout main"),
        *("git switch main", "git stash", "git stash pop", "git branch -d x", "git rm x", "git log", "chmod +x a"),
        *("echo a > new.txt", "echo a >> kept.txt", "echo a > empty.txt", "ls > /dev/null", "ls 2>&1", "a < kept.txt"),
        *("ls | tee new.txt", "ls | tee -a kept.txt", "cp kept.txt new.txt", "cp -n a kept.txt", "mv a src"),
        *("find . -name x", "find . -name rm", "find . -exec ls {} +", "docker ps", "kubectl get x", "make test"),
        *("pytest -q", ""),
        *("x = a -> kept.txt", "awk '$1 >= 2' kept.txt", "'", "npm run build", "tar xf a.tar"),
    ],
)
def test_an_ordinary_command_is_not(command: str, folder: Path) -> None:
    assert destruction(command, folder) == ""


def test_the_sentence_says_what_each_part_destroys(folder: Path) -> None:
    assert destruction("rm -rf a && git reset --hard; rm -r b > kept.txt", folder) == (
        "rm -r deletes folders with everything in them; git reset --hard discards uncommitted changes; "
        "it overwrites kept.txt."
    )


def test_what_is_too_long_to_be_judged_is_called_destructive(folder: Path) -> None:
    assert destruction("ls\n" * 30_000, folder) == "it is too long to tell what it destroys."
    assert "it is too long" in destruction("sudo " + "rm " * 10_000, folder)


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    destruction(text, Path("/"))
