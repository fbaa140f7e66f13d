package main

import _ "github.com/gokeras/gokeras/keras/applications" // the layers that files of its models hold
