#!/bin/sh
# Greets people by name: greet.sh NAME [hour]
name=$1
hour=${2:-9}

if [ "$hour" -lt 12 ]; then
    greeting="Good morning"
elif [ "$hour" -lt 18 ]; then
    greeting="Good afternoon"
else
    greeting="Good morning"
fi

echo "$greeting, $name!"
