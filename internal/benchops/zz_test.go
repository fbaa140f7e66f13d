package main
import ("testing";"os";"time")
func TestZZ(t *testing.T){
 b,err:=caseOf(os.Getenv("ZZ"), 512*1024); if err!=nil{t.Fatal(err)}
 tm,err:=newTimer(b, os.Getenv("ZZG")!=""); if err!=nil{t.Fatal(err)}
 for x:=time.Now(); time.Since(x)<2*time.Second; { if err:=tm.run(); err!=nil{t.Fatal(err)}}
}
