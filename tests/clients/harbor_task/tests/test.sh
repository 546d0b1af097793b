#!/bin/sh
cd /app && python3 -c "from add import add; assert add(2, 3) == 5"
test $? -eq 0 && reward=1 || reward=0
echo $reward > /logs/verifier/reward.txt
